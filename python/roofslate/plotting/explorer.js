// The front of an explorer: a control for each input next to the picture, in any notebook that runs anywidget.

function element(tag, attributes, parent) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  if (/^(input|select|button)$/.test(tag)) made.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the keys
  parent?.append(made);
  return made;
}

function render({ model, el }) {
  el.classList.add("roofslate-explorer");
  const cards = element("div", { className: "cards" }, el);
  const right = element("div", { className: "picture" }, el);
  const canvas = element("div", {}, right);
  const trouble = element("div", { className: "trouble" }, right);
  const code = element("div", {}, right);

  // One move at a time is on its way; of later ones the last follows it.
  let number = 0, next = null, waits = false;
  const flush = () => {
    if (next === null || waits) return;
    waits = true;
    model.set("move", { ...next, number: ++number });
    next = null;
    model.save_changes();
  };
  const move = (name, part, value) => { next = { name, part, value }; flush(); };

  const parts = new Map();
  for (const control of model.get("controls")) {
    const card = element("div", { className: "card" }, cards);
    const head = element("label", { className: "head", title: control.brief }, card);
    element("span", { textContent: control.label }, head);
    const own = {};
    if (control.kind === "menu") {
      own.menu = element("select", { "aria-label": control.label }, card);
      for (const word of control.options) element("option", { value: word, textContent: word }, own.menu);
      own.menu.onchange = () => move(control.name, "menu", own.menu.value);
    } else if (control.kind === "check") {
      own.check = element("input", { type: "checkbox", "aria-label": control.label }, head);
      own.check.onchange = () => move(control.name, "check", own.check.checked);
    } else {
      own.field = element("input", { type: "text", title: control.range, "aria-label": control.range }, head);
      const typed = () => {
        if (own.field.value !== own.sent) move(control.name, "field", (own.sent = own.field.value));
      };
      own.field.onchange = typed;
      own.field.onkeydown = event => { if (event.key === "Enter") typed(); }; // JupyterLab keeps the change to itself
      if (control.slider) {
        const { low, high, step } = control.slider;
        own.slider = element("input", { type: "range", min: low, max: high, step, "aria-label": control.label }, card);
        own.slider.oninput = () => move(control.name, "slider", own.slider.valueAsNumber);
      }
    }
    parts.set(control.name, own);
  }
  element("button", { type: "button", textContent: "Reset", onclick: () => move("", "reset", true) }, cards);

  const follow = () => {
    const focused = el.getRootNode().activeElement; // the document's own would be the host of a shadow root
    for (const control of model.get("controls")) {
      const own = parts.get(control.name);
      const types = own.field && own.field === focused && own.field.value !== own.sent;
      if (own.menu) own.menu.value = control.value;
      if (own.check) own.check.checked = control.value;
      own.sent = control.value;
      if (own.field && !types) own.field.value = control.value; // an answer does not overwrite half-typed text
      if (own.slider && own.slider !== focused) own.slider.value = control.slider.value;
      own.slider?.setAttribute("aria-valuetext", control.value); // a screen reader says the number, not the step
    }
  };
  const show = (place, name) => {
    const put = () => { place.innerHTML = model.get(name); };
    model.on(`change:${name}`, put);
    put();
  };
  show(canvas, "markup");
  show(trouble, "trouble");
  show(code, "code");
  model.on("change:controls", follow);
  model.on("change:done", () => { waits = false; flush(); });
  follow();
}

export default { render };
