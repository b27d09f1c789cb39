(function () {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const N = D.n.length, THRESHOLD = 1, SUBSET = 2;
const WIDE = 196, TALL = 44, ACROSS = 56, DOWN = 10, MOST = 2000;
const parent = new Int32Array(N).fill(-1), depth = new Int32Array(N);
for (let v = 0; v < N; v++) for (let k = 0; k < D.n[v]; k++) { parent[D.first[v] + k] = v; depth[D.first[v] + k] = depth[v] + 1; }
const open = new Uint8Array(N), pruned = new Uint8Array(N), found = new Set();
let current = 0, zoom = 1, way = new Map(), visible = [], hits = [], hit = -1;
const low = D.value ? range(D.value)[0] : 0, high = D.value ? range(D.value)[1] : 1;

function range(values) { let a = Infinity, b = -Infinity; for (const x of values) { if (x < a) a = x; if (x > b) b = x; } return [a, b]; }
function escape(text) { return String(text).replace(/[&<>"']/g, c => '&#' + c.charCodeAt(0) + ';'); }
function cutText(text, most) { const t = [...String(text)]; return t.length <= most ? t.join('') : t.slice(0, most - 1).join('') + '…'; }
function isolate(text) { return '\u2068' + text + '\u2069'; }
function count(x) { return String(+x.toFixed(2)); }
function number(x) { const exact = String(x); return exact.replace(/\D/g, '').length <= 12 ? exact : String(+x.toPrecision(7)); }
function rowsText(v) { const n = D.rows ? D.rows[v] : D.weight[v]; return count(n) + (n === 1 ? ' row' : ' rows'); }
function isLeaf(v) { return D.n[v] === 0 || pruned[v] === 1; }
function percent(x) { return (100 * x).toFixed(x < 0.1 ? 2 : 1) + '%'; }

function writeValue(column, x) {
  const [, kind, unit, categories] = D.columns[column];
  if (kind !== 'numeric') return categories[x];
  if (unit === 'date') return new Date(Math.floor(x) * 864e5).toISOString().slice(0, 10);
  if (unit === 'datetime' || unit === 'utc') return new Date(x / 1000).toISOString().slice(0, 19).replace('T', ' ');
  return number(x);
}
function branch(v, most) {
  const above = parent[v];
  if (above < 0) return 'all rows';
  const column = D.column[above], k = v - D.first[above], name = D.columns[column][3];
  if (D.kind[above] === THRESHOLD) {
    if (D.cut[above] === null) return k ? 'is missing' : 'is known';
    return (k ? '> ' : '≤ ') + writeValue(column, D.cut[above]);
  }
  if (D.kind[above] !== SUBSET) return k < name.length ? '= ' + isolate(name[k]) : 'is missing';
  const set = D.sets[above];
  if (!set.length) return k ? 'is known' : 'is missing';
  if (set.length === 1) return (k ? '≠ ' : '= ') + isolate(name[set[0]]);
  const words = set.slice(0, most).map(c => name[c]).join(', ') + (set.length > most ? ', … ' + (set.length - most) + ' more' : '');
  return (k ? 'not in {' : 'in {') + words + '}';
}
function prediction(v) {
  if (D.outputs) return D.predictions[v].join(', ');
  return D.classes ? D.classes[D.label[v]] : number(D.value[v]);
}
function title(v) { return isLeaf(v) ? prediction(v) : D.columns[D.column[v]][0]; }
function sentence(v) {
  const above = parent[v] < 0 ? '' : D.columns[D.column[parent[v]]][0] + ' ';
  return above + branch(v, 20) + ': ' + (isLeaf(v) ? 'predicts ' : 'splits by ') + title(v) + ', ' + rowsText(v);
}
function weightsOf(v) {
  if (D.dense) return D.weights[v].map((w, k) => [k, w]);
  const pairs = []; for (let k = 0; k < D.weights[v].length; k += 2) pairs.push([D.weights[v][k], D.weights[v][k + 1]]);
  return pairs;
}
function colour(label) { return D.colours[label] || '#a3a9b0'; }

function openFirst() {
  let shown = 1, level = [0];
  open.fill(0);
  while (level.length) {
    const next = [];
    for (const v of level) {
      if (isLeaf(v)) continue;
      if (shown + D.n[v] > D.visible) return;
      open[v] = 1; shown += D.n[v];
      for (let k = 0; k < D.n[v]; k++) next.push(D.first[v] + k);
    }
    level = next;
  }
}
function expandAll() {
  let shown = 1, level = [0], whole = true;
  while (level.length) {
    const next = [];
    for (const v of level) {
      if (isLeaf(v)) continue;
      if (shown + D.n[v] > MOST) { whole = false; continue; }
      open[v] = 1; shown += D.n[v];
      for (let k = 0; k < D.n[v]; k++) next.push(D.first[v] + k);
    }
    level = next;
  }
  draw(whole ? '' : 'The first ' + shown + ' nodes are open; open others by hand.');
}
function place() {
  visible = [];
  const x = new Map(), y = new Map(), waiting = [0];
  let line = 0;
  while (waiting.length) {
    const v = waiting.pop();
    visible.push(v);
    if (open[v] && !isLeaf(v)) for (let k = D.n[v] - 1; k >= 0; k--) waiting.push(D.first[v] + k);
  }
  for (const v of visible) { x.set(v, depth[v] * (WIDE + ACROSS) + 6); if (!open[v] || isLeaf(v)) y.set(v, 6 + (TALL + DOWN) * line++); }
  for (let i = visible.length - 1; i >= 0; i--) {
    const v = visible[i];
    if (!y.has(v)) y.set(v, (y.get(D.first[v]) + y.get(D.first[v] + D.n[v] - 1)) / 2);
  }
  return [x, y, line];
}
function bar(v, x, y) {
  const wide = WIDE - 12;
  if (D.outputs) return '';
  let svg = `<rect x="${x}" y="${y}" width="${wide}" height="5" fill="#e3e8ed"/>`;
  if (D.value) {
    const at = high > low ? (D.value[v] - low) / (high - low) : .5;
    return svg + `<rect x="${x + (wide - 3) * at}" y="${y - 1}" width="3" height="7" fill="#0072b2"/>`;
  }
  let total = D.weight[v];
  if (D.dense) total = D.weights[v].reduce((a, b) => a + b, 0);
  for (const [label, w] of weightsOf(v)) {
    if (!(w > 0) || !(total > 0)) continue;
    svg += `<rect x="${x}" y="${y}" width="${wide * w / total}" height="5" fill="${colour(label)}"/>`;
    x += wide * w / total;
  }
  return svg;
}
function draw(message) {
  const [x, y, lines] = place(), parts = [], hadFocus = byId('tree').contains(document.activeElement);
  let right = 0;
  if (!x.has(current)) current = 0;
  for (const v of visible) {
    right = Math.max(right, x.get(v) + WIDE);
    if (parent[v] < 0) continue;
    const x1 = x.get(parent[v]) + WIDE, y1 = y.get(parent[v]) + TALL / 2, x2 = x.get(v), y2 = y.get(v) + TALL / 2, m = (x1 + x2) / 2;
    const thick = 1 + 7 * D.weight[v] / (D.total || 1), on = way.has(v) && !isUnderPruned(v);
    parts.push(`<path d="M${x1} ${y1}C${m} ${y1} ${m} ${y2} ${x2} ${y2}" stroke-width="${on ? Math.max(thick, 3) : thick}"${on ? ' class="way"' : ''}/>`);
  }
  for (const v of visible) {
    const inner = D.n[v] > 0 && !pruned[v], left = x.get(v), top = y.get(v);
    const names = [way.has(v) ? 'way' : '', found.has(v) ? 'found' : '', pruned[v] ? 'pruned' : ''].filter(Boolean).join(' ');
    const expanded = inner ? ` aria-expanded="${open[v] ? 'true' : 'false'}"` : '';
    const rows = rowsText(v);
    parts.push(`<g role="treeitem" id="n${v}" data-node="${v}" class="${names}" tabindex="${v === current ? 0 : -1}" aria-level="${depth[v] + 1}"${expanded} aria-label="${escape(sentence(v))}">` +
      `<title>${escape(sentence(v))}</title><rect class="box" x="${left}" y="${top}" width="${WIDE}" height="${TALL}" rx="${inner ? 3 : 9}"/>` +
      `<text class="s" x="${left + 6}" y="${top + 14}">${escape(cutText(branch(v, 4), 30))}</text>` +
      `<text class="b" x="${left + 6}" y="${top + 29}">${escape(cutText(title(v), Math.max(6, Math.floor((WIDE - (inner ? 30 : 16) - 6 * rows.length) / 7.5))))}</text>` +
      `<text class="s" x="${left + WIDE - (inner ? 20 : 6)}" y="${top + 29}" text-anchor="end">${rows}</text>` +
      (inner ? `<text class="mark" x="${left + WIDE - 14}" y="${top + 15}">${open[v] ? '−' : '+'}</text>` : '') +
      bar(v, left + 6, top + TALL - 9) + '</g>');
  }
  const svg = byId('tree'), wide = right + 6, tall = Math.max(lines, 1) * (TALL + DOWN) + 6;
  svg.setAttribute('viewBox', `0 0 ${wide} ${tall}`);
  svg.style.width = wide * zoom + 'px'; svg.style.height = tall * zoom + 'px';
  svg.innerHTML = parts.join('');
  if (hadFocus) byId('n' + current).focus({preventScroll: true});
  report(message);
}
function isUnderPruned(v) { for (v = parent[v]; v >= 0; v = parent[v]) if (pruned[v]) return true; return false; }
function summary() {
  let risk = 0, leaves = 0, waiting = [0];
  while (waiting.length) {
    const v = waiting.pop();
    if (isLeaf(v)) { risk += D.risk[v]; leaves++; } else for (let k = 0; k < D.n[v]; k++) waiting.push(D.first[v] + k);
  }
  return {risk: risk, error: risk / D.total, leaves: leaves};
}
function report(message) {
  const s = summary();
  let text = leavesText(s.leaves);
  if (D.classes) text = `Training error: ${count(s.risk)} of ${count(D.total)} rows (${percent(s.error)}); ` + text;
  else if (D.criterion !== 'gradient') text = `Training ${D.criterion.replace(/_/g, ' ')}: ${number(+s.error.toPrecision(6))}; ` + text;
  byId('status').textContent = (message ? message + ' ' : '') + text;
}
function leavesText(n) { return n + (n === 1 ? ' leaf, ' : ' leaves, ') + N + (N === 1 ? ' node' : ' nodes in all'); }

function details(v) {
  const path = [];
  for (let u = v; parent[u] >= 0; u = parent[u]) path.unshift(D.columns[D.column[parent[u]]][0] + ' ' + branch(u, 20));
  const line = (name, value) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`;
  let html = path.length ? `<p class="hint">${path.slice(-8).map(p => escape(cutText(p, 120))).join('<br>')}</p>` : '';
  html += '<table>' + line('Prediction', `<bdi>${escape(cutText(prediction(v), 200))}</bdi>`) + line('Rows', `${rowsText(v).split(' ')[0]} (${percent(D.weight[v] / (D.total || 1))})`);
  if (D.n[v]) html += line('Splits by', `<bdi>${escape(cutText(D.columns[D.column[v]][0], 120))}</bdi>`) + line('Gain', D.gain[v]);
  html += line('Impurity', D.impurity[v]);
  if (D.classes) for (const [label, w] of weightsOf(v)) html += line(`<i style="background:${colour(label)}"></i><bdi>${escape(cutText(D.classes[label], 60))}</bdi>`, count(w));
  html += '</table>' + histogram(v);
  if (D.n[v]) html += `<p><button type="button" id="prune" data-node="${v}">${pruned[v] ? 'Restore the branches' : 'Prune here'}</button></p>`;
  byId('node').innerHTML = html;
}
function histogram(v) {
  const h = D.histograms[v];
  if (!h) return '';
  const most = Math.max(...h[2]), step = 260 / h[2].length, at = 260 * Math.min(Math.max((D.cut[v] - h[0]) / (h[1] - h[0]), 0), 1);
  const bars = h[2].map((c, k) => `<rect x="${k * step}" y="${50 - 48 * c / most}" width="${step * .9}" height="${48 * c / most}" fill="#8795a3"/>`).join('');
  return `<svg viewBox="0 0 260 66" role="img" aria-label="Histogram of the values at this node">${bars}<path d="M${at} 0V54" stroke="#1c2530" stroke-width="2"/>` +
    `<text x="0" y="64" font-size="11">${writeValue(D.column[v], h[0])}</text><text x="260" y="64" font-size="11" text-anchor="end">${writeValue(D.column[v], h[1])}</text></svg>`;
}

function togglePrune(v) {
  if (!D.n[v]) return;
  pruned[v] = pruned[v] ? 0 : 1;
  current = v; draw(); details(v);
}
function toggle(v) { if (isLeaf(v)) return; open[v] = open[v] ? 0 : 1; current = v; draw(); }
function reveal(v) { for (let u = parent[v]; u >= 0; u = parent[u]) { open[u] = 1; pruned[u] = 0; } current = v; }
function focusNode(v) { current = v; for (const g of byId('tree').querySelectorAll('g[tabindex="0"]')) g.setAttribute('tabindex', '-1');
  const g = byId('n' + v); if (g) { g.setAttribute('tabindex', '0'); g.focus({preventScroll: true}); g.scrollIntoView({block: 'nearest', inline: 'nearest'}); } }

function search(text) {
  found.clear(); hits = []; hit = -1;
  const wanted = text.trim().toLowerCase();
  if (wanted) for (let v = 0; v < N; v++) {
    const own = D.n[v] ? D.columns[D.column[v]][0] : prediction(v);
    if (own.toLowerCase().includes(wanted) || (parent[v] >= 0 && branch(v, 50).toLowerCase().includes(wanted))) { hits.push(v); found.add(v); }
  }
  draw(wanted ? hits.length + (hits.length === 1 ? ' node matches.' : ' nodes match.') : '');
}
function nextHit() {
  if (!hits.length) return;
  hit = (hit + 1) % hits.length;
  reveal(hits[hit]); draw((hit + 1) + ' of ' + hits.length + ' nodes.'); details(hits[hit]);
  byId('n' + hits[hit]).scrollIntoView({block: 'center', inline: 'center'});
}

function heaviest(first, n) { let best = 0; for (let k = 1; k < n; k++) if (D.weight[first + k] > D.weight[first + best]) best = k; return best; }
function bySurrogates(v, values) {
  for (const s of (D.surrogates && D.surrogates[v]) || []) {
    const x = values[s[0]], n = D.columns[s[0]][3].length;
    if (x === null || (n && !(x >= 0 && x < n))) continue;
    if (s.length === 4) return x <= s[1] ? s[2] : s[3];
    if (x in s[1]) return s[1][x];
  }
  return -1;
}
function wayOut(v, values) {
  const column = D.column[v], x = values[column], n = D.columns[column][3].length;
  if (x === null || (D.unseen === 'as_missing' && n && x < 0)) { const b = bySurrogates(v, values); return b >= 0 ? b : D.missing[v]; }
  if (n && x < 0) {
    if (D.unseen === 'stop') return -2;
    if (D.unseen !== 'majority') return D.missing[v];
    if (D.kind[v] === SUBSET && !D.sets[v].length) return 1;
    return heaviest(D.first[v], D.kind[v] === SUBSET || D.kind[v] === THRESHOLD ? D.n[v] : n);
  }
  if (D.kind[v] === THRESHOLD) return D.cut[v] === null || x <= D.cut[v] + D.tolerance ? 0 : 1;
  return D.kind[v] === SUBSET ? (D.sets[v].includes(x) ? 0 : 1) : x;
}
function follow(given) {
  const values = given.map((x, k) => {
    const absent = x === null || (D.unseen === 'as_missing' && D.columns[k][3].length && x < 0);
    return absent && D.usual && k in D.usual ? D.usual[k] : x;
  });
  const nodes = new Map(), ends = new Map(), waiting = [[0, 1]];
  while (waiting.length) {
    const [v, part] = waiting.pop();
    nodes.set(v, (nodes.get(v) || 0) + part);
    const b = isLeaf(v) ? -2 : wayOut(v, values);
    if (b === -2) ends.set(v, (ends.get(v) || 0) + part);
    else if (b >= 0) waiting.push([D.first[v] + b, part]);
    else for (let k = 0; k < D.n[v]; k++) if (D.share[D.first[v] + k] > 0) waiting.push([D.first[v] + k, part * D.share[D.first[v] + k]]);
  }
  return {nodes: nodes, ends: ends, prediction: combine(ends)};
}
function shares(v) {
  const out = new Float64Array(D.classes.length);
  while (v > 0 && !(D.weight[v] > 0)) v = parent[v];
  let total = 0;
  for (const [label, w] of weightsOf(v)) out[label] = w;
  if (D.added) for (let k = 0; k < out.length; k++) out[k] += D.added[k];
  for (const w of out) total += w;
  return out.map(w => total > 0 ? w / total : 0);
}
function combine(ends) {
  const only = ends.size === 1 ? ends.keys().next().value : -1;
  if (D.outputs) return only >= 0 ? prediction(only) : 'a mean of ' + ends.size + ' leaves';
  if (!D.classes) { let sum = 0; for (const [v, part] of ends) sum += part * D.value[v]; return number(sum); }
  if (only >= 0) return prediction(only);
  let sum = new Float64Array(D.classes.length);
  for (const [v, part] of ends) shares(v).forEach((s, k) => { sum[k] += part * s; });
  if (D.costs) sum = sum.map((_, k) => -sum.reduce((a, s, j) => a + s * D.costs[j][k], 0));
  let best = 0;
  for (let k = 1; k < sum.length; k++) if (sum[k] > sum[best]) best = k;
  return D.classes[best];
}
function readField(field, k) {
  const [, kind, unit, categories] = D.columns[k], text = field.value;
  if (text === '') return null;
  if (kind !== 'numeric') { const code = categories.indexOf(text); return code; }
  if (unit === 'date') return Date.parse(text) / 864e5;
  if (unit === 'datetime' || unit === 'utc') return Date.parse(text + (/Z$/.test(text) ? '' : 'Z')) * 1000;
  const x = Number(text); return Number.isNaN(x) ? null : x;
}
function followForm() {
  const values = D.columns.map((_, k) => readField(byId('f' + k), k));
  if (values.every(x => x === null)) return forget();
  const guessed = (D.guessed || []).filter(k => values[k] === null);
  if (guessed.length) {
    way = new Map(); draw();
    byId('outcome').textContent = 'Missing values of ' + D.columns[guessed[0]][0] + ' are imputed by another tree; enter a value to follow the row.';
    return;
  }
  const result = follow(values);
  way = result.nodes;
  for (const v of way.keys()) if (!isLeaf(v)) open[v] = 1;
  draw();
  byId('outcome').textContent = 'Prediction: ' + result.prediction + (result.ends.size > 1 ? ' (the row is divided among ' + result.ends.size + ' leaves' + (D.classes && !D.dense ? ', of which only the heaviest classes count here' : '') + ')' : '');
}
function forget() {
  way = new Map();
  for (let k = 0; k < D.columns.length; k++) byId('f' + k).value = '';
  byId('outcome').textContent = 'Enter values to see the path of a row. An empty field is a missing value.';
  draw();
}
function fieldText(k, x) {
  const [, kind, unit] = D.columns[k];
  if (x === null) return '';
  const text = x < 0 && kind !== 'numeric' ? '(another value)' : kind === 'numeric' && unit === 'plain' ? String(x) : writeValue(k, x);
  return unit === 'datetime' || unit === 'utc' ? text.replace(' ', 'T') : text;
}
function buildForm() {
  byId('row').innerHTML = D.columns.map(([name, kind, unit, categories], k) => {
    let field;
    if (kind !== 'numeric' && categories.length <= 300) {
      field = `<select id="f${k}"><option value="">(missing)</option>` + categories.map(c => `<option>${escape(c)}</option>`).join('') + '<option>(another value)</option></select>';
    } else if (kind !== 'numeric') {
      field = `<input id="f${k}" list="l${k}"><datalist id="l${k}">` + categories.map(c => `<option value="${escape(c)}">`).join('') + '</datalist>';
    } else {
      const type = unit === 'date' ? 'date' : unit === 'datetime' || unit === 'utc' ? 'datetime-local' : 'number';
      field = `<input id="f${k}" type="${type}" step="any">`;
    }
    return `<label title="${escape(cutText(name, 1000))}"><bdi>${escape(cutText(name, 60))}</bdi>${field}</label>`;
  }).join('');
  byId('row').addEventListener('input', followForm);
  byId('row').addEventListener('submit', e => e.preventDefault());
  if (D.row) { D.row.forEach((x, k) => { byId('f' + k).value = fieldText(k, x); }); followForm(); }
}

const svg = byId('tree');
svg.setAttribute('aria-label', 'Decision tree for ' + D.target);
byId('heading').textContent = 'Decision tree for ' + D.target;
if (D.classes) byId('legend').innerHTML = Object.keys(D.colours).map(k => `<span><i style="background:${D.colours[k]}"></i><bdi>${escape(cutText(D.classes[k], 40))}</bdi></span>`).join('') +
  (D.dense ? '' : `<span><i style="background:#a3a9b0"></i>${D.classes.length - Object.keys(D.colours).length} other classes</span>`);
svg.addEventListener('click', e => {
  const g = e.target.closest('g[data-node]');
  if (!g) return;
  const v = +g.dataset.node;
  details(v);
  if (byId('scissors').getAttribute('aria-pressed') === 'true') togglePrune(v); else toggle(v);
  focusNode(v);
});
svg.addEventListener('mouseover', e => { const g = e.target.closest('g[data-node]'); if (g) details(+g.dataset.node); });
svg.addEventListener('focusin', e => { const g = e.target.closest('g[data-node]'); if (g) { current = +g.dataset.node; details(current); } });
svg.addEventListener('keydown', e => {
  const v = current, at = visible.indexOf(v);
  if (e.key === 'ArrowDown') focusNode(visible[Math.min(at + 1, visible.length - 1)]);
  else if (e.key === 'ArrowUp') focusNode(visible[Math.max(at - 1, 0)]);
  else if (e.key === 'ArrowRight') { if (isLeaf(v)) return; if (!open[v]) toggle(v); else focusNode(D.first[v]); }
  else if (e.key === 'ArrowLeft') { if (open[v] && !isLeaf(v)) toggle(v); else if (parent[v] >= 0) focusNode(parent[v]); }
  else if (e.key === 'Home') focusNode(0);
  else if (e.key === 'End') focusNode(visible[visible.length - 1]);
  else if (e.key === 'Enter' || e.key === ' ') toggle(v);
  else if (e.key === 'p' || e.key === 'P') togglePrune(v);
  else return;
  e.preventDefault();
});
document.addEventListener('keydown', e => { if (e.key === '/' && !/INPUT|SELECT/.test(e.target.tagName)) { byId('search').focus(); e.preventDefault(); } });
byId('node').addEventListener('click', e => { if (e.target.id === 'prune') { togglePrune(+e.target.dataset.node); const b = byId('prune'); if (b) b.focus(); } });
byId('view').addEventListener('wheel', e => { if (e.ctrlKey) { e.preventDefault(); zoom = Math.min(4, Math.max(.1, zoom * (e.deltaY < 0 ? 1.1 : .9))); draw(); } }, {passive: false});
byId('expand').onclick = expandAll;
byId('collapse').onclick = () => { open.fill(0); draw(); };
byId('larger').onclick = () => { zoom = Math.min(4, zoom * 1.25); draw(); };
byId('smaller').onclick = () => { zoom = Math.max(.1, zoom / 1.25); draw(); };
byId('fit').onclick = () => { const box = svg.viewBox.baseVal, view = byId('view'); zoom = Math.max(.1, Math.min(1.5, (view.clientWidth - 20) / box.width, (view.clientHeight - 20) / box.height)); draw(); };
byId('search').addEventListener('input', e => search(e.target.value));
byId('search').addEventListener('keydown', e => { if (e.key === 'Enter') { nextHit(); e.preventDefault(); } });
byId('next').onclick = nextHit;
byId('scissors').onclick = e => e.target.setAttribute('aria-pressed', String(e.target.getAttribute('aria-pressed') !== 'true'));
byId('restore').onclick = () => { pruned.fill(0); draw('Pruning is undone.'); };
byId('forget').onclick = forget;
window.treewright = {follow: v => { const r = follow(v); return {prediction: r.prediction, ends: [...r.ends.entries()]}; }, summary: summary};
openFirst();
draw();
details(0);
byId('n0').scrollIntoView({block: 'center'});
buildForm();
})();
