"""A report for programs and for pages: JSON in the shape of the public kit, JUnit XML, Markdown."""

from __future__ import annotations

from accord.check.report.document import document_of, documents_of
from accord.check.report.junit import junit_of
from accord.check.report.markdown import markdown_of

__all__ = ["document_of", "documents_of", "junit_of", "markdown_of"]
