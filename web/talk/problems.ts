/**
 * What went wrong, in words that help: what it is, why, and the way out.
 *
 * @module
 */

export interface Problem {
  readonly title: string;
  readonly text: string;
  /** Ways out, one a line. `code` between backquotes. */
  readonly ways: readonly string[];
  readonly canRetry: boolean;
}

const problem = (title: string, text: string, ways: readonly string[] = [], canRetry = true): Problem => ({
  title,
  text,
  ways,
  canRetry,
});

/** `getUserMedia` rejected, or is not there at all: a code for {@link problemOf}. */
export function microphoneProblem(error: unknown): string {
  if (!(error instanceof DOMException)) return 'MICROPHONE_FAILED';
  switch (error.name) {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'MICROPHONE_REFUSED';
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'MICROPHONE_MISSING';
    case 'NotReadableError':
    case 'AbortError':
      return 'MICROPHONE_BUSY';
    default:
      return 'MICROPHONE_FAILED';
  }
}

/** @param code - of the gateway's table of errors, or one of the page's own */
export function problemOf(code: string): Problem {
  switch (code) {
    case 'INSECURE_CONTEXT':
      return problem(
        'This address can’t use a microphone',
        'Browsers give a microphone only to pages that came over HTTPS, or from this very machine.',
        [
          'On the machine where the agent runs, open `http://localhost` with the same port instead.',
          'Give the gateway a certificate: `server.tls` in its config.',
          'Put it behind a reverse proxy that speaks HTTPS, and name its address in `server.publicUrl`.',
          'Or use a tunnel: `ssh -L 8080:localhost:8080 your-machine`, then open `http://localhost:8080/talk`.',
        ],
        false,
      );
    case 'MICROPHONE_REFUSED':
      return problem(
        'The microphone is blocked',
        'The browser or the system does not let this page use it.',
        [
          'Click the icon left of the address, allow the microphone for this page, and try again.',
          'No icon? Look in the system’s privacy settings, and whether this browser may use the microphone there.',
        ],
      );
    case 'MICROPHONE_MISSING':
      return problem('There is no microphone', 'This browser finds none.', [
        'Plug one in, or choose another in the settings, and try again.',
      ]);
    case 'MICROPHONE_BUSY':
      return problem('The microphone is in use', 'Another program holds it, or it was unplugged.', [
        'Close the other program, or choose another microphone in the settings.',
      ]);
    case 'MICROPHONE_FAILED':
      return problem('The microphone does not work', 'The browser could not open it.');
    case 'CALL_LIMIT_REACHED':
      return problem(
        'All lines are busy',
        'The agent takes no more calls at the moment. Try again in a minute.',
      );
    case 'TOO_MANY_CONNECTIONS':
      return problem(
        'Too many calls',
        'There are too many calls from here. End another one, or wait a minute.',
      );
    case 'SHUTTING_DOWN':
      return problem('The agent is restarting', 'It takes calls again in a moment.');
    case 'CALL_REFUSED':
      return problem(
        'The agent takes no calls',
        'Its config lets nobody in: `allowFrom` is empty.',
        [],
        false,
      );
    case 'MODEL_UNAVAILABLE':
    case 'MODEL_AUTH_FAILED':
    case 'MODEL_PROTOCOL':
      return problem('The agent can’t speak right now', 'The speech model behind it did not answer.');
    case 'MEDIA_TOOL_UNAVAILABLE':
      return problem('The agent is not ready', 'A tool that its config requires is not available.');
    case 'PAGE_AUTH_REQUIRED':
    case 'PAGE_CODE_INVALID':
      return problem('You are no longer logged in', 'The session of this page is over.');
    case 'NO_WAY':
      return problem(
        'There is no way to call',
        'The gateway has neither WebRTC nor its fallback.',
        [],
        false,
      );
    case 'NETWORK':
      return problem('The gateway does not answer', 'The network is away, or the gateway is.');
    case 'CONNECTION_TIMEOUT':
    case 'CONNECTION_FAILED':
      return problem('No connection', 'Neither way to the agent got through.', [
        'A VPN or a firewall may be in the way; try another network.',
      ]);
    default:
      return problem('The call did not come about', `The gateway said ${code}.`);
  }
}

/** Why a call ended, for the line above “Call again”. */
export function endText(reason: string): string {
  switch (reason) {
    case 'caller_hangup':
      return 'You hung up.';
    case 'agent_hangup':
      return 'The agent said goodbye.';
    case 'connection_lost':
      return 'The line was away for too long.';
    case 'gateway_lost':
      return 'Sorry, something went wrong on the gateway’s side, and the call is lost. Log in again; a guest needs a new link.';
    case 'transferred':
      return 'You were put through.';
    case 'silence':
      return 'Nobody spoke for a while.';
    case 'no_media':
      return 'No sound came from here.';
    case 'model_failed':
      return 'The speech model behind the agent failed.';
    case 'max_duration':
      return 'The call reached its longest time.';
    case 'shutdown':
      return 'The gateway was stopped.';
    default:
      return 'The call is over.';
  }
}
