"""The four forms in which a run is told: for people, the answer alone, as records, as texts of the wire."""
