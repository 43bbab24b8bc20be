/**
 * The colours of the timeline. Whoever shows it has `--fg`, `--dim`, `--line`, `--caller`, `--agent`, `--verbatim`, `--tool`
 * and `--error`.
 *
 * @module
 */

export const TIMELINE_STYLE = `
.timeline{display:block;cursor:crosshair;font-family:inherit}
.timeline .minor{stroke:var(--line);stroke-width:.5}
.timeline .major{stroke:var(--line)}
.timeline .tick{font-size:11px;fill:var(--dim)}
.timeline rect.caller{fill:var(--caller);opacity:.13}
.timeline rect.agent{fill:var(--agent);opacity:.13}
.timeline rect.verbatim{fill:var(--verbatim);opacity:.18}
.timeline .wave{fill:none;stroke-width:1}
.timeline .callerwave{stroke:var(--caller)}
.timeline .agentwave{stroke:var(--agent)}
.timeline .said{font-size:11px;fill:var(--fg)}
.timeline rect.tool{fill:var(--tool)}
.timeline rect.tool.error{fill:var(--error)}
.timeline .toolname{font-size:11px;fill:var(--fg)}
.timeline .interruption line{stroke:var(--error);stroke-width:1.5;stroke-dasharray:4 3}
.timeline .interrupted{font-size:11px;fill:var(--error)}
.timeline .latency{fill:none;stroke:var(--dim)}
.timeline .latencytext{font-size:11px;fill:var(--dim);font-variant-numeric:tabular-nums}
.timeline .fault{font-size:11px;fill:var(--error)}
.timeline .key{font-size:13px;fill:var(--caller)}
.timeline .playhead{stroke:var(--fg);stroke-width:1}
`;
