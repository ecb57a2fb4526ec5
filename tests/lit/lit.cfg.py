import os

import lit.formats

config.name = "attnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".attn"]
config.test_source_root = config.attnc_source
config.test_exec_root = config.attnc_binary
path = [config.attnc_tools, config.llvm_tools, os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
# A variable of one function never leaks into the next.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
config.environment["ATTNC_CACHE_DIR"] = "none"
