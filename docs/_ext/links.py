"""Whether a built site is whole: ``python docs/_ext/links.py FOLDER [WORD ...]``.

Every `href` and `src` that stays within the site must name a file of it, and an anchor that this file has. No page may
need another host for what it shows. No text may hold the markup of its source, backquotes or roles. Each WORD must be
known to the search. Prints what is wrong; exit status 1 then.
"""

from __future__ import annotations

import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Markup that a reader should not see.
RAW = re.compile(r"`|:(?:class|func|meth|mod|attr|data|doc|ref|term|math):|\.\. \w+::")
#: Elements whose text is meant as it stands.
VERBATIM = ("pre", "script", "style", "math")


class Page(HTMLParser):
    """The links of a page, what it loads, the anchors that it has, and its text outside of code blocks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.text: list[str] = []
        self._verbatim: list[str] = []
        self.feed(text)

    def handle_data(self, data: str) -> None:
        if not self._verbatim:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._verbatim and tag == self._verbatim[-1]:
            self._verbatim.pop()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attributes if value}
        if tag in VERBATIM:
            self._verbatim.append(tag)
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag in ("script", "img", "link") and given.get("rel") not in (
            "canonical",
            "search",
            "next",
            "prev",
            "author",
        ):
            self.loaded += [given[name] for name in ("src", "href") if name in given]
        elif "href" in given:
            self.links.append(given["href"])


def _is_page(name: str) -> bool:
    return name.endswith(".html") and not name.startswith("_static/")  # a theme keeps templates there


def problems(folder: Path) -> list[str]:
    """One line for each link that leads nowhere, and each thing that another host would have to give."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = {name: Page((folder / name).read_text("utf-8")) for name in sorted(files) if _is_page(name)}
    found = [] if pages else [f"{folder} holds no page"]
    for name, page in pages.items():
        loaded = set(page.loaded)
        for link in dict.fromkeys(page.links + page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in loaded and parts.scheme != "data":
                    found.append(f"{name}: {link} is loaded from another host")
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            target = name if not parts.path else target if target in files else posixpath.join(target, "index.html")
            anchor = unquote(parts.fragment)
            if target not in files:
                found.append(f"{name}: {link} is not there")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{name}: {link} has no such place")
        text = " ".join("".join(page.text).split())
        if raw := RAW.search(text):
            found.append(f"{name}: raw markup in '{text[max(0, raw.start() - 30) : raw.end() + 30].strip()}'")
    return found


def unknown_to_search(folder: Path, words: list[str]) -> list[str]:
    """Those of `words` that the search index of the site does not know."""
    index = (folder / "searchindex.js").read_text("utf-8")
    return [word for word in words if not re.search(rf'["{{,]{re.escape(word)}"?:', index)]


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    wrong = problems(folder) + [f"search does not find {word}" for word in unknown_to_search(folder, arguments[1:])]
    print("\n".join(wrong) if wrong else f"{folder}: all links lead somewhere")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
