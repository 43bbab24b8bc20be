"""Realtime voice: calls by phone and from a web page."""
