// The landing page: search over quantities and presets, and flashcards with grades.

const MOST_HITS = 40;
const TOLERANCE = 0.1; // relative, of a right answer

function folded(text) { return text.toLowerCase().replace(/[_\-\s]+/g, " ").trim(); }

function item(...parts) { const li = document.createElement("li"); li.append(...parts); return li; }

function link(href, words) { const a = document.createElement("a"); a.href = href; a.textContent = words; return a; }

function startLanding() {
  const data = JSON.parse(document.getElementById("roofslate-landing").textContent);
  const units = unitsOf(data.units);
  const quantities = data.quantities.map(q => ({ ...q, names: [q.name, ...q.aliases].map(folded), words: folded(`${q.name} ${q.brief} ${q.aliases.join(" ")}`) }));
  const presets = data.presets.map(p => ({ ...p, names: [folded(p.name)], words: folded(`${p.name} ${p.keyword}`) }));
  const field = document.getElementById("search"), results = document.getElementById("search-results"), count = document.getElementById("search-count");

  const rank = (entry, text, words) => {
    if (entry.names.includes(text)) return 0;
    if (entry.names.some(name => name.startsWith(text))) return 1;
    return words.every(word => entry.words.includes(word)) ? 2 : 3;
  };
  const search = () => {
    const text = folded(field.value), words = text.split(" ");
    if (!text) { results.replaceChildren(); count.textContent = ""; return; }
    const hits = [...quantities, ...presets].map(entry => [rank(entry, text, words), entry]).filter(([order]) => order < 3).sort((a, b) => a[0] - b[0]);
    count.textContent = hits.length ? `${hits.length} found` : `Nothing is called '${field.value.slice(0, 80)}'. Try another word.`;
    results.replaceChildren(...hits.slice(0, MOST_HITS).map(([, entry]) => {
      const name = document.createElement("strong");
      name.textContent = entry.name;
      if (entry.keyword) return item(name, `: ${entry.keyword}${entry.date ? `, ${entry.date}` : ""}. ${entry.numbers}`);
      const places = entry.places.flatMap(([href, words], k) => [k ? ", " : " In: ", link(href, words)]);
      return item(name, `: ${entry.brief}${entry.unit ? ` (${entry.unit})` : ""}.`, ...places);
    }));
  };
  field.addEventListener("input", search);

  const graded = new Map(), score = document.getElementById("score");
  for (const card of data.cards) {
    const place = document.getElementById(`card-${card.id}`), form = place.querySelector("form");
    place.querySelector(".computed")?.append(...card.answers.map(one => item(`${one.label}: ${units.format(one.value * one.factor, one.unit)}`)));
    form?.addEventListener("submit", event => {
      event.preventDefault();
      const said = place.querySelector(".verdict"), text = form.querySelector("input").value.trim();
      const troubles = [], tries = [];
      for (const one of card.answers) {
        try {
          const given = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : units.parse(text, one.unit) / one.factor;
          if (Number.isNaN(given)) throw new UnitError("expected a number, got NaN");
          tries.push([Math.abs(given - one.value) / Math.abs(one.value), given, one]);
        } catch (error) {
          if (!(error instanceof UnitError)) throw error;
          troubles.push(error.message);
        }
      }
      if (!tries.length) { said.textContent = `${troubles[0]}.`; said.dataset.verdict = "unread"; return; }
      const [miss, , nearest] = tries.sort((a, b) => a[0] - b[0])[0];
      const right = miss <= TOLERANCE;
      said.textContent = `${right ? "Right" : "Wrong"}: ${nearest.label}, ${units.format(nearest.value * nearest.factor, nearest.unit)}.`;
      said.dataset.verdict = right ? "right" : "wrong";
      graded.set(card.id, right);
      score.textContent = `${[...graded.values()].filter(Boolean).length} of ${graded.size} right.`;
    });
  }
  document.documentElement.dataset.ready = "true";
}

startLanding();
