"""Tables that do not fit into memory or onto one machine: scans of files, and Dask."""
