# The attn dialect (MLIR side).
