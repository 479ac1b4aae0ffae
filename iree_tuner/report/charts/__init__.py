"""One file for each chart: from the report's data to Vega-Lite; None without data."""
