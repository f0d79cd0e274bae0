"""HTTP that a server cannot grow without end: clients buffer lines and bodies for as long as they come."""

from collections.abc import AsyncIterator
from typing import cast

import httpx

_RESPONSE_BYTES_MAX = 32 << 20  # the longest answer that is read, a letter a piece, each wrapped in 400 bytes of JSON


class BoundedTransport(httpx.AsyncHTTPTransport):
    """Reads no response beyond its bound, and none that is packed, of which nobody knows how large it will be. Beyond
    is `httpx.ReadError`, as for a connection that broke."""

    def __init__(self) -> None:
        super().__init__(trust_env=False)  # a proxy variable would take even loopback away

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx.ReadError("the response is packed, which was not asked for", request=request)
        response.stream = _Bounded(cast("httpx.AsyncByteStream", response.stream), request)
        return response


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = _RESPONSE_BYTES_MAX
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx.ReadError("the response has no end", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
