"""A run as one HTML file: what was gained, where the time goes, how the search went (docs/report.md).

May import everything up to `tuning`. Drawing needs altair, vl-convert and jinja2, which are imported when a
page is made; gathering what it shows needs none of them.
"""
