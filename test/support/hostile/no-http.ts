// Bytes that are no request.
import { TOKENS } from '../api/served-api.ts';

const HOST = 'host: 127.0.0.1\r\n';
const TOKEN = `authorization: Bearer ${TOKENS.operator}\r\n`;
const HEAD = `${HOST}${TOKEN}`;

/** Bytes that are no request. Each must end its connection, and none may be answered with success. */
export const NO_HTTP: Readonly<Record<string, string | Buffer>> = {
  'a TLS greeting': Buffer.from('16030100a5010000a10303', 'hex'),
  'an SSH greeting': 'SSH-2.0-x\r\n',
  'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'random bytes': Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 7_919 + 13) % 256)),
  zeros: Buffer.alloc(4_096),
  'a target that is no path': `GET v1 HTTP/1.1\r\n${HEAD}\r\n`,
  'version 9.9': `GET /v1 HTTP/9.9\r\n${HEAD}\r\n`,
  'an unknown method': `EVIL /v1 HTTP/1.1\r\n${HEAD}\r\n`,
  'a space in the path': `GET /v1 /x HTTP/1.1\r\n${HEAD}\r\n`,
  'a control character in the path': `GET /v1\x01 HTTP/1.1\r\n${HEAD}\r\n`,
  'no host': `GET /v1 HTTP/1.1\r\n${TOKEN}\r\n`,
  'a header without a colon': `GET /v1 HTTP/1.1\r\n${HEAD}x\r\n\r\n`,
  'a space before a colon': `GET /v1 HTTP/1.1\r\n${HEAD}x : y\r\n\r\n`,
  'a header that is folded': `GET /v1 HTTP/1.1\r\n${HEAD}x: y\r\n z\r\n\r\n`,
  'a zero byte in a header': `GET /v1 HTTP/1.1\r\n${HEAD}x: \0\r\n\r\n`,
  'a header of 64 KiB': `GET /v1 HTTP/1.1\r\n${HEAD}x: ${'x'.repeat(65_536)}\r\n\r\n`,
  'headers of 64 KiB': `GET /v1 HTTP/1.1\r\n${HEAD}${'x: y\r\n'.repeat(10_000)}\r\n`,
  'a path of 64 KiB': `GET /${'x'.repeat(65_536)} HTTP/1.1\r\n${HEAD}\r\n`,
  'a negative length': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: -1\r\n\r\n`,
  'a length that is no number': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 1x\r\n\r\n`,
  'two lengths': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
  'a length and chunks': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'chunks that are not last': `POST /v1/sessions HTTP/1.1\r\n${HEAD}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
  'a chunk of no size': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n`,
  'a chunk of a huge size': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
};
