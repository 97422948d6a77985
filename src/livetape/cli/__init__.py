"""The ``livetape`` command."""
