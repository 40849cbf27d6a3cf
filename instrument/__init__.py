"""What runs inside SGLang's own processes: it stands alone and imports no heavy library."""
