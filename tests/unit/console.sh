#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The reader of documents (tests/cluster/t/console.sh) without a cluster: what it runs, and
# that it notices when a document is wrong. Speaks TAP.

# shellcheck source=tests/cluster/t/console.sh
. "${srcdir:-.}/tests/cluster/t/console.sh"
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# In place of tests/cluster/t/lib.sh: the commands run here.
took='^berth: pulled .* in [0-9]+ s$'
nodes=n1,n2,n3,n4
alice() { "$@"; }
on() {
    shift 2
    "$@"
}
result() { said+="$1 "; }
node_file() { cat >"$T/$1${2//\//_}"; }

# reads NAME VERDICTS <DOCUMENT
reads() {
    said=''
    cat >document
    console_document document
    equal "$1" "$2" "${said% }"
}

reads "output that is right" "ok ok ok" <<'END'
text
```console
$ echo "a * (b)"; echo c
a * (b)
c
# printf '%s\n' one \
    two
one
two
$ true
```
END
reads "output that is not" FAIL <<'END'
```console
$ echo a
b
```
END
reads "more output than is shown, and less" "FAIL FAIL" <<'END'
```console
$ echo a; echo b
a
$ echo a
a
b
```
END
reads "dots are for any text in a line, or any lines" "ok ok ok FAIL" <<'END'
```console
$ echo job 17 ended
job ... ended
$ seq 9; echo end
1
...
end
$ echo end
...
end
$ printf 'job\nended\n'
job...ended
```
END
reads "other characters mean themselves" "FAIL" <<'END'
```console
$ echo abc
a.c
```
END
reads "in any order" "ok FAIL FAIL ok" <<'END'
```console any-order
$ echo b 1; echo a
a
b ...
$ echo a; echo a
a
b
$ echo a; echo b; echo c
b
a
$ echo a; echo b; echo c
c
...
```
END
reads "a status that is not 0" "FAIL ok FAIL" <<'END'
```console
$ false
```
```console fails
$ echo wrong >&2; exit 3
wrong
$ true
```
END
reads "every host shows the same" "ok FAIL" <<'END'
```console on=nodes
# echo x >>seen; wc -l seen | sed 's/[1-4]/n/'
n seen
# echo x >>seen; wc -l seen | sed 's/[1-7]/n/'
n seen
```
END
reads "files" "ok ok ok" <<'END'
- in a list
  ```bash file=run.sh
  #!/bin/sh
  echo ran
  ```
  ```console
  $ ./run.sh
  ran
  ```
```yaml file=/etc/x.yaml
a: b
```
```console
$ cat login_etc_x.yaml n4_etc_x.yaml
a: b
a: b
$ test ! -x login_etc_x.yaml
```
END
reads "what is only shown" "" <<'END'
```text
$ false
```
```sh not-run
false
```
END

finish
