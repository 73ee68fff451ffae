// What is wrong with a page for those who read it: a list of sentences, empty where all is well.
() => {
    const wrong = new Set(), cache = new Map();
    const dot = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    dot.canvas.width = dot.canvas.height = 1;
    const once = rule => {
        const known = new Map();
        return e => known.get(e) ?? known.set(e, rule(e)).get(e);
    };
    const here = node => {
        const path = [];
        for (let e = node; e && e !== document.body; e = e.parentElement) path.unshift(e.localName + (e.id && '#' + e.id));
        return path.slice(-4).join(' > ');
    };
    const rgba = text => {
        if (!cache.has(text)) {
            dot.clearRect(0, 0, 1, 1);
            dot.fillStyle = text;
            dot.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = dot.getImageData(0, 0, 1, 1).data;
            cache.set(text, [r, g, b, a / 255]);
        }
        return cache.get(text);
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((x, k) => a * x + (1 - a) * below[k]);
    const ground = once(e => {
        if (!e) return rgba('Canvas').slice(0, 3);
        const colour = rgba(getComputedStyle(e).backgroundColor);
        return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(e.parentElement));
    });
    const luminance = colour => {
        const [r, g, b] = colour.map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const opacity = once(e => e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1);

    // WCAG 2.2, 1.4.3: 4.5 to 1, for large text 3 to 1
    document.querySelectorAll('details').forEach(e => { e.open = true; });
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const e = texts.currentNode.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
        const words = texts.currentNode.data.trim();
        if (!words || box.width < 2 || box.height < 2 || e.closest('noscript, script, style, :disabled')) continue;
        if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        const below = ground(e), own = rgba(e instanceof SVGElement ? style.fill : style.color);
        const [ink, paper] = [over([...own.slice(0, 3), own[3] * opacity(e)], below), below].map(luminance);
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        if (contrast < (large ? 3 : 4.5))
            wrong.add(`contrast of ${contrast.toFixed(2)}: "${words.slice(0, 30)}" in ${here(e)}`);
    }
    for (const e of document.images) {
        if (!e.hasAttribute('alt')) wrong.add(`no alternative text: ${e.src.slice(-60)}`);
        if (!e.complete || !e.naturalWidth) wrong.add(`no picture: ${e.src.slice(-60)}`);
    }
    for (const e of document.querySelectorAll('table')) {
        const heads = [...e.querySelectorAll('th')];
        if (!heads.length) wrong.add(`no header cells: ${here(e)}`);
        if (heads.some(head => !head.textContent.trim())) wrong.add(`a header cell without words: ${here(e)}`);
    }
    for (const e of document.querySelectorAll('a[href], button, input, select, textarea, summary')) {
        const label = e.labels?.[0]?.textContent || e.getAttribute('aria-label') || e.title || e.placeholder;
        const told = label || e.textContent.trim() || e.querySelector('img[alt]:not([alt=""]), svg title');
        if (!told && e.checkVisibility({visibilityProperty: true}) && e.type !== 'hidden' && e.type !== 'checkbox')
            wrong.add(`an element has no name: ${e.outerHTML.slice(0, 80)}`);
    }
    const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(e => Number(e.localName[1]));
    if (levels.filter(level => level === 1).length !== 1) wrong.add('not one heading of the first level');
    if (levels.some((level, k) => level > (levels[k - 1] ?? 0) + 1)) wrong.add('a level of headings is left out');
    if (!document.documentElement.lang) wrong.add('the language is missing');
    if (!document.title.trim()) wrong.add('the page has no title');
    return [...wrong];
}
