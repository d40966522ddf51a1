# For attack programs in shell, which begin with: . "${0%/*}/lib/attack.sh"
# shellcheck shell=sh

told=$1
verdicts=

# arena NAME: what the program was told under the name.
arena() { printf '%s\n' "$told" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"; }

# attempt NAME COMMAND...: notes ok if the command succeeds, else its exit code.
attempt() {
  name=$1
  shift
  if "$@" >/dev/null 2>&1 </dev/null; then outcome=ok; else outcome="exit $?"; fi
  verdicts="$verdicts${verdicts:+, }\"$name\": \"$outcome\""
}

report() { printf '{%s}\n' "$verdicts"; }
