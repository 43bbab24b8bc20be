/** Style and script of `call.html`. */

export const CALL_PAGE_STYLE = `
:root{color-scheme:light dark;--bg:#fafaf8;--fg:#1c1d1f;--dim:#6b6f76;--line:#dcdcd6;--caller:#2864c8;--agent:#117a55;--verbatim:#8a6d00;--tool:#7a4cc2;--error:#c2382e}
@media(prefers-color-scheme:dark){:root{--bg:#15171a;--fg:#e8e8e4;--dim:#9aa0a8;--line:#2c3036;--caller:#7fb0ff;--agent:#55cf9d;--verbatim:#e0c050;--tool:#bd9aff;--error:#ff8077}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1640px;padding:24px 28px 60px;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px;margin:0}header p{margin:2px 0 16px;color:var(--dim)}code{font-family:ui-monospace,monospace}
.figures{display:flex;flex-wrap:wrap;gap:10px 34px;margin:0 0 16px}.figures dt{color:var(--dim);font-size:12px}.figures dd{margin:0;font-size:19px;font-variant-numeric:tabular-nums}
audio{width:100%;height:36px;margin-bottom:12px}
.labels{display:flex;flex-wrap:wrap;gap:18px;font-size:13px;color:var(--dim)}.labels span::before{content:"";display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;background:currentColor}
.labels .caller{color:var(--caller)}.labels .agent{color:var(--agent)}.labels .verbatim{color:var(--verbatim)}.labels .tool{color:var(--tool)}.labels .toolerror,.labels .interruption{color:var(--error)}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;margin:8px 0 24px}
table{border-collapse:collapse;width:100%}caption{text-align:left;color:var(--dim);padding-bottom:6px}th,td{text-align:left;vertical-align:top;padding:5px 12px 5px 0;border-top:1px solid var(--line)}thead th{font-size:12px;color:var(--dim);font-weight:normal}
tbody th{white-space:nowrap;font-weight:600}tr.caller th{color:var(--caller)}tr.agent th{color:var(--agent)}tr.tool th{color:var(--tool)}tr.interruption th{color:var(--error)}tr.tool td:last-child{font-family:ui-monospace,monospace;font-size:13px;overflow-wrap:anywhere}
td button{font:inherit;font-variant-numeric:tabular-nums;border:0;background:none;color:var(--dim);cursor:pointer;padding:0;text-decoration:underline dotted}
`;

export const CALL_PAGE_SCRIPT = `
const audio=document.getElementById('audio'),svg=document.querySelector('.timeline'),head=svg.querySelector('.playhead');
const left=Number(svg.dataset.left),scale=Number(svg.dataset.pxPerMs);
const move=()=>{const x=left+audio.currentTime*1000*scale;head.setAttribute('x1',x);head.setAttribute('x2',x);if(!audio.paused)requestAnimationFrame(move)};
audio.addEventListener('play',move);audio.addEventListener('seeked',move);
svg.addEventListener('click',e=>{audio.currentTime=Math.max(0,(e.clientX-svg.getBoundingClientRect().left-left)/scale/1000)});
for(const row of document.querySelectorAll('tr[data-at]'))row.querySelector('button').addEventListener('click',()=>{audio.currentTime=row.dataset.at/1000;audio.play()});
`;
