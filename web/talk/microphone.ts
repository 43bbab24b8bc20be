/**
 * The microphone and the loudspeakers, as far as the browser lets a page choose.
 *
 * @module
 */

/** Why there can be no microphone at all, before anybody is asked; `null` when there can. */
export function microphoneObstacle(): string | null {
  if (!window.isSecureContext) return 'INSECURE_CONTEXT';
  return navigator.mediaDevices === undefined ? 'MICROPHONE_MISSING' : null;
}

/** @param deviceId - empty: the system's choice @throws DOMException when the person or the system refuses */
export async function openMicrophone(deviceId: string, echoCancellation: boolean): Promise<MediaStream> {
  return navigator.mediaDevices.getUserMedia({
    audio: {
      channelCount: 1,
      echoCancellation,
      noiseSuppression: true,
      autoGainControl: true,
      ...(deviceId === '' ? {} : { deviceId: { exact: deviceId } }),
    },
  });
}

export interface Devices {
  readonly microphones: readonly MediaDeviceInfo[];
  readonly speakers: readonly MediaDeviceInfo[];
}

/** Names are known once the page has had the microphone. */
export async function listDevices(): Promise<Devices> {
  const all = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  const of = (kind: MediaDeviceKind) =>
    all.filter((device) => device.kind === kind && device.deviceId !== '');
  return { microphones: of('audioinput'), speakers: of('audiooutput') };
}

export const canChooseSpeaker =
  typeof HTMLMediaElement !== 'undefined' && 'setSinkId' in HTMLMediaElement.prototype;

/** What the browser really does against echo, which is not always what it was asked for; `null`: it does not say. */
export function echoCancellationOf(stream: MediaStream | null): boolean | null {
  const setting: unknown = stream?.getAudioTracks()[0]?.getSettings().echoCancellation;
  return typeof setting === 'boolean' ? setting : setting === undefined ? null : true;
}
