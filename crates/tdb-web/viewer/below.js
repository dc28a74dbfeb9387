// What is below an address: members of a group that are elsewhere are named, and not followed.

/** Whether an address is below a folder. */
export const isBelow = (url, folder) => url.startsWith(folder.replace(/\/*$/, '/'));

/** The error for a member that is not. */
export const elsewhere = (name, url) =>
  new Error(
    `The member ${name} is elsewhere, at ${url}, and is not followed. ` +
      'Open that address to see it.',
  );
