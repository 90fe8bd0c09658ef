#!/bin/sh
# test.sh NAME: tests the program NAME.
sh "code/$1.sh" && exit 0
echo "code/$1.sh says $?, and not 0"
exit 1
