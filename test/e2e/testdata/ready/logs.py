import logging
logging.warning("before a configuration")
logging.basicConfig(level=logging.INFO)
logging.info("after")
print(logging.root.handlers, logging.getLogger("matplotlib").handlers)
