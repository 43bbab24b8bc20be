/**
 * What went wrong, why, and the ways out.
 *
 * @module
 */

import { problemOf } from './problems.ts';

/** Text with `code` between backquotes. */
function Line({ text }: { text: string }) {
  return (
    <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
  );
}

export function ProblemView({ code, onRetry }: { code: string; onRetry: () => void }) {
  const { title, text, ways, canRetry } = problemOf(code);
  return (
    <div class="problem-view" role="alert">
      <h2>{title}</h2>
      <p>{text}</p>
      {ways.length > 0 && (
        <ul>
          {ways.map((way) => (
            <li key={way}>
              <Line text={way} />
            </li>
          ))}
        </ul>
      )}
      {canRetry && (
        <button type="button" class="primary" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
