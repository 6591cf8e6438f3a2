// Sorts tables, chooses counters, links lines and turns frames. Without scripts everything is
// there, in its first order.
'use strict';

const element = (name, fields = {}, ...inside) => {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...inside);
  return made;
};

// --- tables ---------------------------------------------------------------------------------------
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return '';
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const order = (a, b) => typeof a === 'number' && typeof b === 'number'
    ? a - b : typeof a === 'number' ? 1 : typeof b === 'number' ? -1 : a < b ? -1 : a > b ? 1 : 0;
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = element('button', {type: 'button'}, head.textContent);
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') !== 'descending';
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const rows = [...body.rows];
      rows.sort((a, b) => order(key(a, column), key(b, column)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
}

// --- frames: one at a time, by a slider -----------------------------------------------------------
for (const frames of document.querySelectorAll('.frames')) {
  const all = [...frames.querySelectorAll('figure')];
  if (all.length < 2) continue;
  const slider = element('input', {type: 'range', min: 1, max: all.length, value: 1});
  const told = element('output', {}, `1 of ${all.length}`);
  slider.setAttribute('aria-label', 'Which round of the access');
  slider.addEventListener('input', () => {
    all.forEach((figure, i) => { figure.hidden = i + 1 !== Number(slider.value); });
    const caption = all[slider.value - 1].querySelector('figcaption').textContent;
    slider.setAttribute('aria-valuetext', caption);
    told.textContent = `${slider.value} of ${all.length}`;
  });
  frames.prepend(element('div', {className: 'chooser'}, 'round ', slider, told));
}

// --- sources --------------------------------------------------------------------------------------
const words = counter => counter.replaceAll('_', ' ');
const short = count => count < 1e5 ? String(count)
  : count < 1e6 ? `${Math.round(count / 1e3)}k` : count < 1e9 ? `${(count / 1e6).toPrecision(3)}M`
  : `${(count / 1e9).toPrecision(3)}G`;

for (const source of document.querySelectorAll('.source')) {
  const rows = [...source.querySelectorAll('.lines tr[data-l]')];
  const code = [...source.querySelectorAll('.code [data-l]')];
  const json = source.querySelector('script');
  const data = json ? JSON.parse(json.textContent) : {counters: [], totals: [], lines: {}, chosen: []};
  const count = (line, counter) => (data.lines[line] || [])[data.counters.indexOf(counter)] || 0;
  const total = counter => data.totals[data.counters.indexOf(counter)];
  const told = element('div', {className: 'told'});
  told.setAttribute('role', 'status');

  const tell = line => {
    const counts = data.counters.filter(counter => count(line, counter) > 0).map(counter => {
      const share = 100 * count(line, counter) / total(counter);
      return `${words(counter)} ${count(line, counter).toLocaleString('en')} (${share.toFixed(1)}%)`;
    });
    told.textContent = `line ${line}: ` + (counts.length ? counts.join(' \u00b7 ') : 'nothing counted');
  };
  const light = line => {
    for (const one of [...rows, ...code]) one.classList.toggle('on', one.dataset.l === line);
    if (data.counters.length) tell(line);
  };

  // One stop for the tabulator key in each pane; arrows move within it.
  const walk = (list, onEnter) => {
    list.forEach((one, i) => {
      one.tabIndex = i === 0 ? 0 : -1;
      one.addEventListener('mouseenter', () => light(one.dataset.l));
      one.addEventListener('focus', () => light(one.dataset.l));
      one.addEventListener('keydown', event => {
        const step = {ArrowDown: 1, ArrowUp: -1, Home: -i, End: list.length - 1 - i}[event.key];
        if (event.key === 'Enter') onEnter(one.dataset.l, event);
        const next = step === undefined ? undefined : list[i + step];
        if (!next) return;
        event.preventDefault();
        one.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
    });
  };
  const show = (list, line) => {
    const first = list.find(one => one.dataset.l === line);
    const pane = first && first.closest('.scroll');
    if (!pane) return;
    pane.scrollTop += first.getBoundingClientRect().top - pane.getBoundingClientRect().top -
      pane.clientHeight / 3;
  };
  walk(rows, line => show(code, line));
  walk(code, (line, event) => { event.preventDefault(); show(rows, line); });
  rows.forEach(row => row.addEventListener('click', () => {
    light(row.dataset.l);
    show(code, row.dataset.l);
  }));
  code.forEach(one => one.addEventListener('click', event => {
    event.preventDefault();
    light(one.dataset.l);
    show(rows, one.dataset.l);
  }));
  if (!data.counters.length) continue;

  // The choice of counters: one for the heat, any number as columns.
  const heat = element('select', {}, ...data.counters.map(c => new Option(words(c), c)));
  const paint = () => rows.forEach(row => {
    const share = count(row.dataset.l, heat.value) / total(heat.value);
    if (share >= 0.005) row.style.setProperty('--h', share.toFixed(2));
    else row.removeAttribute('style');
  });
  heat.value = data.heat;
  heat.addEventListener('change', paint);
  const head = source.querySelector('.lines thead tr');
  const remarks = [...source.querySelectorAll('.lines td[colspan]')];
  const toggle = (counter, wanted) => {
    const at = [...head.cells].findIndex(cell => cell.dataset.c === counter);
    if (wanted === at >= 0) return;
    if (wanted) {
      const title = element('th', {className: 'n', scope: 'col'}, words(counter));
      title.dataset.c = counter;
      head.insertBefore(title, head.lastElementChild);
      rows.forEach(row => {
        const number = count(row.dataset.l, counter);
        row.insertBefore(element('td', {className: 'n'}, number ? short(number) : ''),
          row.lastElementChild);
      });
    } else {
      head.cells[at].remove();
      rows.forEach(row => row.cells[at].remove());
    }
    remarks.forEach(cell => { cell.colSpan += wanted ? 1 : -1; });
  };
  const choices = data.counters.map(counter => {
    const box = element('input', {type: 'checkbox', checked: data.chosen.includes(counter)});
    box.addEventListener('change', () => toggle(counter, box.checked));
    return element('label', {}, box, ' ' + words(counter));
  });
  const choice = element('div', {className: 'choice'}, ...choices);
  choice.setAttribute('role', 'group');
  choice.setAttribute('aria-label', 'Columns');
  source.querySelector('.panes').before(element('div', {className: 'tools'},
    element('label', {}, 'heat by ', heat),
    element('details', {}, element('summary', {}, 'columns'), choice)));
  source.append(told);
  tell(data.lines && Object.keys(data.lines)[0]);
}
