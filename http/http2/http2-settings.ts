// SETTINGS frames, ours and the client's (RFC 9113 section 6.5). A changed initial window size also changes the windows
// of open streams, which may become negative.
import { maxClientStreams, maxHeaderBytes } from '../../lib/limits.ts';
import { ConnectionFault, errorCode } from '../http2-faults.ts';
import { maxFrameBytes, maxWindowBytes, setting } from './http2-frames.ts';
import type { Http2Sender, OutgoingStream } from './http2-sender.ts';
import { streamWindowBytes } from './http2-stream.ts';

const bytesPerSetting = 6;
const largestFrameSize = 0xff_ffff;

/** Payload of our SETTINGS frame. Other settings keep their defaults: frames of 16 KiB and an HPACK table of 4 KiB. */
export function ourSettings(): Buffer {
  const settings = [
    [setting.maxConcurrentStreams, maxClientStreams],
    [setting.initialWindowSize, streamWindowBytes],
    [setting.maxHeaderListSize, maxHeaderBytes],
  ] as const;
  const payload = Buffer.alloc(settings.length * bytesPerSetting);
  settings.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * bytesPerSetting);
    payload.writeUInt32BE(value, i * bytesPerSetting + 2);
  });
  return payload;
}

/**
 * Applies the settings of a client in order; unknown identifiers are ignored.
 * @throws ConnectionFault when a value is not allowed
 */
export function applySettings(
  bytes: Buffer,
  start: number,
  end: number,
  sender: Http2Sender,
  streams: Iterable<OutgoingStream>,
): void {
  if ((end - start) % bytesPerSetting !== 0) {
    throw new ConnectionFault(errorCode.frameSizeError, 'SETTINGS of a length that is no multiple of six');
  }
  for (let at = start; at < end; at += bytesPerSetting) {
    const value = bytes.readUInt32BE(at + 2);
    switch (bytes.readUInt16BE(at)) {
      case setting.headerTableSize:
        sender.setTableLimit(value);
        break;
      case setting.enablePush:
        if (value > 1) throw new ConnectionFault(errorCode.protocolError, 'ENABLE_PUSH is neither 0 nor 1');
        break;
      case setting.initialWindowSize:
        if (value > maxWindowBytes || !sender.setStreamWindow(value, streams)) {
          throw new ConnectionFault(errorCode.flowControlError, 'INITIAL_WINDOW_SIZE is too large');
        }
        break;
      case setting.maxFrameSize:
        // The value is not stored: we never send a frame larger than the smallest allowed value.
        if (value < maxFrameBytes || value > largestFrameSize) {
          throw new ConnectionFault(errorCode.protocolError, 'MAX_FRAME_SIZE is out of range');
        }
        break;
    }
  }
}
