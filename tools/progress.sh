# Sourced by the scripts beside it. They say on standard error what they do: on a terminal in a line
# that changes, elsewhere (a log) in a line every 15 seconds.
next_line=0

progress() {  # TEXT
  if [ -t 2 ]; then
    printf '\r\033[K%s' "$1" >&2
  elif ((SECONDS >= next_line)); then
    echo "$1" >&2
    next_line=$((SECONDS + 15))
  fi
}

progress_ends() {  # clears the line that changes
  [ ! -t 2 ] || printf '\r\033[K' >&2
}
