"""Numbered steps of the schema, one folder for each engine; forward only.

A step that has been released is never edited: databases remember its checksum.
"""
