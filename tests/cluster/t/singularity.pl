#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A stand-in for SingularityCE without setuid, made of the Apptainer that is here: for
# ce.t. What is different there, and matters to berth: the image is served by a squashfuse
# that detaches itself, below /tmp in the mount namespace of the host; the runtime does not
# hold the file; who kills the runtime leaves the mount and its directory, and another one
# in which it tries overlayfs; gzip only; where /dev/fuse does not serve, the image is
# unpacked.
use strict;
use warnings;

my $image;
for (@ARGV) {
    if ($_ eq '--version') { print "singularity-ce version 4.5.1\n"; exit 0 }
    $image //= \$_ if $ARGV[0] ne 'verify' && m{^/} && -f && magic($_, 32) eq 'SIF_MAGIC';
}
exec 'apptainer', @ARGV if !$image;

sub magic { open my $f, '<', $_[0] or return ''; seek $f, $_[1], 0; read $f, my $b, 9; $b // '' }

# The file system in a SIF file begins at a page.
my $at = 4096;
$at += 4096 until substr(magic($$image, $at), 0, 4) eq 'hsqs';
open my $file, '<', $$image or die;
seek $file, $at + 20, 0;
read $file, my $compression, 2;
close $file;
if (unpack('v', $compression) > 5) {
    print STDERR "FATAL:   image: while checking squashfs header: corrupted image: ",
        "unknown compression algorithm value ", unpack('v', $compression), "\n";
    exit 255;
}

my $check = "/tmp/check-overlay$$" . int rand 1e6;
my @parts = ($check, map { "$check/$_" } qw(l u w m));
mkdir for @parts;
select undef, undef, undef, 0.02;
rmdir for reverse @parts;
my $top = "/tmp/rootfs-$$" . int rand 1e6;
mkdir $top, 0700 or die;
my $root = "$top/root";
mkdir $root;
my $unpacked = system 'squashfuse_ll', '-o', "uid=$<,gid=$>,ro,offset=$at", $$image, $root;
system 'unsquashfs', '-q', '-n', '-f', '-no-xattrs', '-no-exit', '-o', $at, '-d', $root, $$image and exit 255
    if $unpacked;
$$image = $root;
my $pid = fork // die;
if (!$pid) {
    syscall 157, 1, 9; # prctl(PR_SET_PDEATHSIG, SIGKILL): the two of us are one runtime
    exec 'apptainer', @ARGV or exit 255;
}
$SIG{$_} = sub { } for qw(HUP INT QUIT TERM USR1 USR2);
1 until waitpid($pid, 0) == $pid;
my $status = $?;
system 'fusermount3', '-q', '-u', '-z', $root if !$unpacked;
system 'rm', '-rf', '--one-file-system', $top;
$SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT TERM USR1 USR2);
kill $status & 127, $$ if $status & 127;
exit $status >> 8;
