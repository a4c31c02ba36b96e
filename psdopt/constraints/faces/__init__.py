"""The face of the cone that constraints leave: found from rows, combinations of rows, and a central path."""
