/** A certificate for 127.0.0.1, made by openssl, and clients that believe it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { isInstalled } from '../e2e/own-network.ts';

export const hasOpenssl = isInstalled('openssl');
if (!hasOpenssl) console.warn('Skipped: HTTPS of several workers. openssl is not installed.');

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The certificate itself, in PEM. */
  readonly pem: string;
  remove(): void;
}

export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'tls-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const whose = ['-subj', '/CN=gateway.example', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...kind, ...whose, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { cert, key, pem: readFileSync(cert, 'utf8'), remove };
}

/** This process believes it, `fetch` and WebSockets included. */
export function believe({ pem }: Certificate): void {
  setDefaultCACertificates([...getCACertificates('default'), pem]);
}
