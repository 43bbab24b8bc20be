/**
 * Runs in the page before anything of it: keeps what goes into the microphone and what the player plays, and how it
 * travels. Typed with the pages (`web/tsconfig.json`), put in as text by `test/e2e/web-caller.ts`.
 */
type Side = 'caller' | 'agent';

declare const MediaStreamTrackProcessor: new (init: {
  track: MediaStreamTrack;
  maxBufferSize: number;
}) => { readonly readable: ReadableStream<AudioData> };

const tracks: Record<Side, Float32Array[]> = { caller: [], agent: [] };
const starts: Record<Side, number> = { caller: 0, agent: 0 };
const rates: Record<Side, number> = { caller: 0, agent: 0 };
const peers: RTCPeerConnection[] = [];

async function record(side: Side, stream: MediaStream): Promise<void> {
  const [track] = stream.getAudioTracks();
  if (!track) return;
  const reader = new MediaStreamTrackProcessor({
    track: track.clone(),
    maxBufferSize: 6000,
  }).readable.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const samples = new Float32Array(value.numberOfFrames);
    value.copyTo(samples, { planeIndex: 0, format: 'f32-planar' });
    rates[side] = value.sampleRate;
    starts[side] ||= performance.now() - (value.numberOfFrames / value.sampleRate) * 1000;
    tracks[side].push(samples);
    value.close();
  }
}

const property = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, 'srcObject') ?? {};
Object.defineProperty(HTMLMediaElement.prototype, 'srcObject', {
  ...property,
  set(stream: MediaStream | null) {
    property.set?.call(this, stream);
    if (stream !== null) void record('agent', stream);
  },
});

if (navigator.mediaDevices) {
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (constraints) => {
    const stream = await open(constraints);
    void record('caller', stream);
    return stream;
  };
}

window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(configuration?: RTCConfiguration) {
    super(configuration);
    peers.push(this);
  }
};

/** All blocks at 48 kHz, whatever rate this machine's sound has. */
async function whole(side: Side): Promise<Float32Array> {
  const count = tracks[side].reduce((sum, { length }) => sum + length, 0);
  const rate = rates[side];
  if (count === 0 || rate === 0) return new Float32Array(0);
  const buffer = new AudioBuffer({ length: count, sampleRate: rate });
  let at = 0;
  for (const block of tracks[side]) {
    buffer.copyToChannel(new Float32Array(block), 0, at);
    at += block.length;
  }
  const context = new OfflineAudioContext(1, Math.ceil((count * 48_000) / rate), 48_000);
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(context.destination);
  source.start();
  return (await context.startRendering()).getChannelData(0);
}

/** 16-bit samples at 48 kHz as base64, and when the first one was, in ms of the page's clock. */
async function heard(side: Side): Promise<{ base64: string; startMs: number }> {
  const samples = await whole(side);
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (const [index, sample] of samples.entries())
    view.setInt16(index * 2, Math.max(-1, Math.min(1, sample)) * 32767, true);
  let text = '';
  for (let i = 0; i < bytes.length; i += 30_000)
    text += String.fromCharCode(...bytes.subarray(i, i + 30_000));
  return { base64: btoa(text), startMs: starts[side] };
}

/** The kind of our end of the nominated pair, and which network; `null` without WebRTC. */
async function route(): Promise<{ type: string; protocol: string } | null> {
  const reports = [...((await peers.at(-1)?.getStats())?.values() ?? [])];
  const pair = reports.find(
    (each) => each.type === 'candidate-pair' && each.nominated && each.state === 'succeeded',
  );
  const local = reports.find((each) => each.id === pair?.localCandidateId);
  return local ? { type: local.candidateType, protocol: local.protocol } : null;
}

Object.assign(window, { tapped: { heard, route } });
