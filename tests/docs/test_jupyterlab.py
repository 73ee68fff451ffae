"""Notebooks in a real JupyterLab: run from top to bottom, with all output visible."""

import re
import shutil

import pytest
from support import ROOT
from support.slices import first_alone

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRAWS = re.compile(r"rs\.(charts\.\w+|plot)\(")
RUN = """async path => {
    const notebook = await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await notebook.context.ready;
    await notebook.sessionContext.ready;
    await notebook.revealed;
    await jupyterapp.commands.execute('notebook:run-all-cells');
    const within = e => e.getBoundingClientRect().right <= innerWidth;
    const cells = [];
    for (const {model, node} of notebook.content.widgets.filter(cell => cell.model.type === 'code')) {
        const images = [...node.querySelectorAll('.jp-OutputArea img')];
        await Promise.all(images.map(image => image.decode()));
        cells.push({
            source: model.sharedModel.source,
            count: model.executionCount,
            kinds: model.outputs.toJSON().map(output => `${output.output_type} ${output.name ?? ''}`.trim()),
            pictures: images.map(image => image.naturalWidth),
            seen: images.every(within),
            heads: [...node.querySelectorAll('.jp-OutputArea table')].map(table => table.querySelectorAll('th').length),
        });
    }
    await notebook.sessionContext.shutdown();
    notebook.dispose();
    return cells;
}"""


@pytest.fixture(scope="module")
def page(laboratory, browser):
    """Open the window of JupyterLab, with records of its messages and requests."""
    address, folder = laboratory
    for path in NOTEBOOKS:
        shutil.copy(path, folder)
    near = (address, address.replace("http:", "ws:"), "data:", "blob:")
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.trouble = []

    def note(kind, words, url):
        if "/lsp/status?" not in url:  # JupyterLab's request for a language server
            opened.trouble.append(f"{kind}: {words} {url}")

    opened.on("console", lambda line: line.type == "error" and note("console", line.text, line.location["url"]))
    opened.on("pageerror", lambda error: note("page", error, ""))
    opened.on("response", lambda answer: answer.status >= 400 and note(answer.status, "", answer.url))
    opened.on("request", lambda request: request.url.startswith(near) or note("network", "", request.url))
    opened.goto(f"{address}lab", timeout=90_000)  # two or three seconds where nothing else runs
    opened.locator(".jp-LauncherCard").first.wait_for(timeout=90_000)
    yield opened
    opened.close()


@pytest.mark.parametrize("path", first_alone(NOTEBOOKS), ids=lambda path: path.stem)
def test_in_jupyterlab(path, page):
    """Every notebook cell ran in order without an error, and each chart is a visible image."""
    cells = page.evaluate(RUN, path.name)
    assert [cell["count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not {"error", "stream stderr"} & set(cell["kinds"]), cell["source"]
        assert not DRAWS.search(cell["source"]) or cell["pictures"], cell["source"]
        assert all(width > 300 for width in cell["pictures"]), cell["source"]
        assert cell["seen"], cell["source"]
        assert all(cell["heads"]), cell["source"]
    assert any(cell["pictures"] for cell in cells)
    trouble, page.trouble = page.trouble, []
    assert not trouble
