"""The fault proxy: stands between one actor and the apiserver, and does to what passes what rules say."""

from hintbound.proxy.book import Book
from hintbound.proxy.listener import FaultProxy, Witness
from hintbound.proxy.rules import Rule, of, read
from hintbound.proxy.serving import ServingAuthority

__all__ = ["Book", "FaultProxy", "Rule", "ServingAuthority", "Witness", "of", "read"]
