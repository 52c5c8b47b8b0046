"""The page and its assets: files of the package, read once, looked up by name."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from azfit.web.endpoints import Handler

INDEX = "index.html"

TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    data: bytes
    kind: str
    etag: str


def _assets(folder: Traversable, prefix: str = "") -> dict[str, Asset]:
    assets: dict[str, Asset] = {}
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            assets |= _assets(entry, name + "/")
        elif not entry.name.startswith("."):
            data, suffix = entry.read_bytes(), "." + entry.name.rpartition(".")[2]
            kind = TYPES.get(suffix) or mimetypes.guess_type(entry.name)[0]
            etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            assets[name] = Asset(data, kind or "application/octet-stream", etag)
    return assets


class Pages:
    """``/`` is the page, ``/static/NAME`` an asset. What a client asks for is a key, not a path."""

    def __init__(self) -> None:
        self._assets = _assets(files("azfit.web") / "static")

    @property
    def routes(self) -> list[Route]:
        named = [
            Route(f"/static/{name}", self._answer(name), methods=["GET"]) for name in self._assets
        ]
        return [Route("/", self._answer(INDEX), methods=["GET"]), *named]

    def _answer(self, name: str) -> Handler:
        asset = self._assets[name]

        async def answer(request: Request) -> Response:
            headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
            if request.headers.get("if-none-match") == asset.etag:
                return Response(status_code=304, headers=headers)
            return Response(asset.data, headers=headers, media_type=asset.kind)

        return answer
