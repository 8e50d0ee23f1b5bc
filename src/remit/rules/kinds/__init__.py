"""Rules about what each kind of result must hold."""
