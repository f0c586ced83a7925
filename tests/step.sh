# sh tests/step.sh STAMP COMMAND: run a test step. The command's output goes to STAMP.log. If the command succeeds, STAMP is touched
# and a summary of the log is printed (what was skipped and why, how many tests passed); if it fails, the whole log is printed.
# In the command, `each c '..'` (or `each c++ '..'`) runs the text once for each family of compilers that is installed, with $CC set
# to a compiler of this family. `one c '..'` runs it with cc, and `other c '..'` with clang, because `ninja test` uses cc.

# Python caches compiled modules next to the sources. With a cache below build/ it would compile installed packages again.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX

each() {
  case $1 in c) families='gcc clang' ;; *) families='g++ clang++' ;; esac
  for family in $families; do
    for version in '' -19 -18 -17 -16 -15 -14; do
      CC=$family$version
      command -v "$CC" || continue
      eval "$2" || return 1
      break
    done
  done
}

other() {
  for version in '' -19 -18 -17 -16 -15 -14; do
    CC=clang$version
    command -v "$CC" || continue
    eval "$2"
    return
  done
  echo "SKIP: no clang"
}

one() {
  CC=cc
  eval "$2"
}

if (eval "$2") > "$1.log" 2>&1; then
  grep -E '^(SKIP|[0-9]+ (passed|skipped))' "$1.log" || echo '1 passed'
  touch "$1"
else
  cat "$1.log"
  grep -Eq '^[0-9]+ failed' "$1.log" || echo '1 failed'
  exit 1
fi
