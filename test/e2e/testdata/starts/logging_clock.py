import logging
import logging.config

logging.basicConfig(level='INFO', format='%(levelname)s %(message)s')
logging.info('begun')
print(logging.makeLogRecord({}).relativeCreated < 60000, logging.getLogger().handlers)
