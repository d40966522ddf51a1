import os
print({k: v for k, v in sorted(os.environ.items()) if k != "SCIDEX_ANALYSIS_ID"}, len(os.environ))
os.system("env | grep -v SCIDEX_ANALYSIS_ID | sort")
