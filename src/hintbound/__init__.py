"""Chaos and conformance test suite for Kubernetes `pod.status.nominatedNodeName`: a hint is not a binding."""

__version__ = "0.1.0"
