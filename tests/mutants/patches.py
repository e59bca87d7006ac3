"""All patches: each breaks one promise in the smallest way, and names the test that must notice."""

from tests.mutants import applications, bounds, consent, machine, messages, serving, sessions, traces
from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

MUTANTS: tuple[Mutant, ...] = (
    *messages.MUTANTS,
    *bounds.MUTANTS,
    *sessions.MUTANTS,
    *consent.MUTANTS,
    *machine.MUTANTS,
    *serving.MUTANTS,
    *traces.MUTANTS,
    *applications.MUTANTS,
)
