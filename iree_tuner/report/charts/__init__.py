"""One file a chart: from the report's data to Vega-Lite; None where there is nothing to draw."""
