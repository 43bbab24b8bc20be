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

/** 16-bit samples as base64, and when the first one was, in ms of the page's clock. */
function heard(side: Side): { base64: string; startMs: number } {
  const count = tracks[side].reduce((sum, { length }) => sum + length, 0);
  const bytes = new Uint8Array(count * 2);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const block of tracks[side])
    for (const sample of block) {
      view.setInt16(at, Math.max(-1, Math.min(1, sample)) * 32767, true);
      at += 2;
    }
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
