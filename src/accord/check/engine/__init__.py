"""The engine of checks: processes and their records, evidence, judges and outcomes, for agents and clients."""
