"""HTTP/1.1 as bytes: however it is cut it says the same, and nothing but BadMessage comes of what is none."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from hintbound.proxy.http import (
    BadMessage,
    Chunked,
    RequestHeads,
    answer_framing,
    answer_head,
    request_framing,
)
from hintbound.proxy.watched import Splitter

PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=8)
CUTS = st.lists(st.integers(1, 12), max_size=60)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """The same bytes in pieces of these sizes, the rest at once."""
    found = []
    for size in sizes:
        if data:
            found.append(data[:size])
            data = data[size:]
    return [*found, data] if data else found


@given(PIECES, CUTS, st.binary(max_size=20))
def test_chunks_give_the_same_body_however_they_arrive(
    pieces: list[bytes], sizes: list[int], after: bytes
) -> None:
    sent = (
        b"".join(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"
    )
    framing, body, rest = Chunked(), b"", b""
    for part in cut(sent + after, sizes):
        if framing.done:
            rest += part
            continue
        found, used = framing.feed(part)
        body += b"".join(found)
        rest += part[used:]

    assert (framing.done, body, rest) == (True, b"".join(pieces), after)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_a_bad_message(raw: bytes) -> None:
    for line in (raw, b"GET /x HTTP/1.1\r\nHost: a\r\n" + raw):
        with contextlib.suppress(BadMessage):
            head, sent_on = RequestHeads().read(line)
            request_framing(head)
            assert b"\n" not in sent_on.replace(b"\r\n", b"")
    for line in (raw, b"HTTP/1.1 200 OK\r\n" + raw):
        with contextlib.suppress(BadMessage):
            answer_framing(answer_head(line), "GET")


@given(st.binary(max_size=100))
def test_any_bytes_are_chunks_or_a_bad_message(raw: bytes) -> None:
    with contextlib.suppress(BadMessage):
        Chunked().feed(raw)


@given(st.lists(st.sampled_from([b'{"type":"ADDED"}', b'{"a":"\xc3\xa9"}', b"{}"]), max_size=6), CUTS)
def test_events_are_the_same_however_they_arrive(lines: list[bytes], sizes: list[int]) -> None:
    splitter = Splitter(json=True)
    sent = b"".join(line + b"\n" for line in lines)
    events = [event for part in cut(sent, sizes) for event in splitter.feed(part)]

    assert [event.raw for event in events] == [line + b"\n" for line in lines]
    assert splitter.rest == b""


@given(PIECES, CUTS)
def test_protobuf_events_are_the_same_however_they_arrive(frames: list[bytes], sizes: list[int]) -> None:
    splitter = Splitter(json=False)
    sent = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    events = [event for part in cut(sent, sizes) for event in splitter.feed(part)]

    assert b"".join(event.raw for event in events) == sent
    assert len(events) == len(frames)


def test_fields_of_a_client_are_read_once_and_their_framing_each_time() -> None:
    heads = RequestHeads(without=(b"authorization",))
    fields = b"\r\nHost: a\r\nAuthorization: Bearer x\r\nX-Mine: 1"
    first, sent = heads.read(b"GET /a HTTP/1.1" + fields)
    second, again = heads.read(b"DELETE /b HTTP/1.1" + fields)

    assert (first.method, first.path, second.method, second.path) == ("GET", "/a", "DELETE", "/b")
    assert sent == again == b"X-Mine: 1"
    assert first.fields is second.fields
