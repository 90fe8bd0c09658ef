got=$(sh total.sh 2 3 4)
[ "$got" = 9 ] || { echo "total.sh 2 3 4 prints $got, expected 9" && exit 1; }
